# The handler behind Server::eval: the body is a script; code, error code and result come back on lines of their own.
proc testkit_eval args {
    set code [catch {uplevel #0 [ns_conn content]} result options]
    set errorcode NONE
    if {[dict exists $options -errorcode]} {
        set errorcode [dict get $options -errorcode]
    }
    ns_return 200 "text/plain; charset=utf-8" "$code\n[string map {\n { }} $errorcode]\n$result"
}
ns_register_proc POST /-testkit-/eval testkit_eval

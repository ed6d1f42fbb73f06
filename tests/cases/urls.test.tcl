setup {
    # Asks this server: head lines and body as sent, the answer without its Date.
    proc ask {line {fields {}} {body {}}} {
        set c [socket 127.0.0.1 [ns_conn currentport]]
        fconfigure $c -translation binary
        if {$body ne {}} {lappend fields "Content-Length: [string length $body]"}
        puts -nonewline $c "[join [list "$line HTTP/1.0" "Host: t.test:81" {*}$fields] \r\n]\r\n\r\n$body"
        flush $c
        set answer [read $c]
        close $c
        return $answer
    }
    proc body answer {string range $answer [string first \r\n\r\n $answer]+4 end}
    proc status answer {lindex [split $answer] 1}
    # The values of a header field.
    proc field {name answer} {
        set found {}
        foreach line [split [string range $answer 0 [string first \r\n\r\n $answer]-1] \n] {
            if {[string match -nocase "$name:*" $line]} {lappend found [string trim [string range $line [string length $name]+1 end]]}
        }
        return $found
    }
    # What a script answers when it runs for a request.
    proc during {script args} {
        nsv_set during script $script
        body [ask {*}$args]
    }
    foreach method {GET POST} {
        ns_register_proc $method /during {
            if {[catch [nsv_get during script] result]} {set result "error: $result"}
            ns_return 200 text/plain $result
        }
    }
}
param ns/server/default serverdir root
setup {
    ns_register_url2file /mapped/* mapping
    # For all interpreters.
    ns_eval {
        proc mapping url {string cat [ns_info home] /pages/ [file tail $url]}
        proc tagged {why tag} {ns_set put [ns_conn outputheaders] X-Trace $tag; return filter_ok}
    }
    ns_register_filter preauth GET /filtered/* tagged second
    ns_register_filter -first preauth GET /filtered/* tagged first
    ns_register_filter -constraints {X-Only yes} preauth GET /filtered/* tagged only
    ns_register_proc GET /filtered {ns_return 200 text/plain ok}
    ns_register_proc GET /tree {ns_return 200 text/plain tree}
    ns_register_proc GET /tree/*.special {ns_return 200 text/plain special}
    ns_register_proc -noinherit GET /tree/alone {ns_return 200 text/plain alone}
}
match "paths of URLs" {ns_url2file /a/../b} {*/pages/*b}
match "a script says where" {ns_url2file /mapped/x.html} {*/pages/x.html}
case "the deepest and most specific answers" {
    lmap path {/tree /tree/a/b /tree/x.special /tree/alone /tree/alone/x} {body [ask "GET $path"]}
} {tree tree special alone tree}
case "filters in their order" {field x-trace [ask {GET /filtered/x}]} {first second}
case "filters with a context" {field x-trace [ask {GET /filtered/x} {{X-Only: yes}}]} {first second only}
case "data of one's own" {
    set id [ns_urlspace new]
    ns_urlspace set -id $id -key k /a/* here
    list [ns_urlspace get -id $id -key k /a/b/c] [ns_urlspace get -id $id -key k /b]
} {here {}}
case "absolute URLs" {
    list [ns_absoluteurl x http://h/a/b] [ns_absoluteurl ../x http://h/a/b/c] [ns_absoluteurl //k/x http://h/a]
} {http://h/a/x http://h/a/b/../x http://k/x}
case "other methods" {status [ask {DELETE /tree}]} 405
case "nothing leads out" {lmap path {/../../etc/passwd /%2e%2e/%2e%2e/etc/passwd /..%2fetc} {status [ask "GET $path"]}} {404 404 404}

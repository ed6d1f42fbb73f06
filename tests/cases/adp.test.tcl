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
case "scripts and expressions" {ns_adp_parse {a<% set x 3 %>b<%= $x %>}} ab3
case "arguments" {ns_adp_parse {<%= "[ns_adp_argc] [ns_adp_argv 1] [ns_adp_argv 7 none]" %>} one two} {3 one none}
case "tags" {
    ns_register_adptag twice /twice ::twice
    proc ::twice {text set} {string repeat "$text[ns_set get $set by]" 2}
    ns_adp_parse {<twice by="-">x</twice>!}
} {x-x-!}
case "a tag that is a page" {
    ns_adp_registeradp hello {Hello <%= [ns_set get [ns_adp_argv 1] name] %>}
    ns_adp_parse {<hello name=Ann>!}
} {Hello Ann!}
case "a return ends the page" {ns_adp_parse {a<% ns_adp_append b; ns_adp_return; ns_adp_append c %>d}} ab
case "output can be changed" {ns_adp_parse {abc<% ns_adp_trunc 1; ns_adp_append [ns_adp_tell] %>}} a1
match "errors in pages do not end the request" {ns_adp_parse {a<% error x %>b}} {a*b}
case "included pages have arguments" {
    set f [open [ns_info home]/pages/part.adp w]; puts -nonewline $f {(<%= [ns_adp_argv 0] %>)}; close $f
    ns_adp_parse {<% ns_adp_include -- part.adp x %><% ns_adp_include part.adp y %>}
} {(x)(y)}
case "pages answer requests" {
    set f [open [ns_info home]/pages/page.adp w]; puts -nonewline $f {<%= [ns_queryget q] %>}; close $f
    set a [ask {GET /page.adp?q=%3Cb%3E}]; list [status $a] [field content-type $a] [body $a]
} {200 {{text/html; charset=utf-8}} <b>}
case "files as scripts" {
    set f [open [ns_info home]/pages/s.tcl w]; puts -nonewline $f {ns_adp_append "from tcl"}; close $f
    ns_adp_parse {<% ns_adp_include -tcl s.tcl %>}
} {from tcl}

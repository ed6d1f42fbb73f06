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
setup {
    ns_register_proc GET /respond {ns_respond -status 201 -type text/plain -string made}
    ns_register_proc GET /named {ns_setexpires 60; ns_set put [ns_conn outputheaders] X-Mine yes; ns_return 200 text/plain named}
    ns_register_proc GET /moved {ns_returnredirect /there?a=b}
    ns_register_proc GET /away {ns_returnmoved http://other.test/}
    ns_register_proc GET /notice {ns_returnnotice 200 "A <b>" "<i>text</i>"}
    ns_register_proc GET /bad {ns_returnbadrequest "why & how"}
    ns_register_proc GET /forbidden {ns_returnforbidden}
    ns_register_proc GET /auth {ns_returnunauthorized}
    ns_register_proc GET /error {error secret}
    ns_register_proc GET /stream {ns_headers 200 text/plain; ns_write a; ns_write b c}
    ns_register_proc GET /update {ns_updateheader X-A 1; ns_updateheader x-a 2; ns_return 200 text/plain {}}
    ns_register_proc GET /file {
        set name [ns_mktemp]; set f [open $name w]; puts -nonewline $f 0123456789; close $f
        ns_returnfile 200 text/plain $name
        file delete $name
    }
    ns_register_proc GET /bytes {ns_return 200 application/octet-stream [binary format H* 00ff80]}
    ns_register_proc GET /typed {ns_return 200 "text/html; charset=iso-8859-1" \u00e9}
}
case "status, type and body" {
    set a [ask {GET /respond}]; list [status $a] [field content-type $a] [field content-length $a] [body $a]
} {201 {{text/plain; charset=utf-8}} 4 made}
case "headers of the script" {
    set a [ask {GET /named}]; list [field x-mine $a] [string match {*GMT} [lindex [field expires $a] 0]] [field cache-control $a]
} {yes 1 {}}
case "a redirect within the server" {
    set a [ask {GET /moved}]; list [status $a] [field location $a]
} {302 /there?a=b}
case "moved for ever" {
    set a [ask {GET /away}]; list [status $a] [field location $a]
} {301 http://other.test/}
match "notices quote their title" {ask {GET /notice}} {*<title>A &lt;b&gt;</title>*<i>text</i>*}
match "bad requests tell why" {set a [ask {GET /bad}]; return "[status $a] [body $a]"} {400 *why & how*}
case "canned answers" {
    lmap path {/forbidden /auth /error /nowhere} {status [ask "GET $path"]}
} {403 401 500 404}
match "errors are not shown" {if {[string match *secret* [ask {GET /error}]]} {return shown} else {return hidden}} hidden
case "streams" {body [ask {GET /stream}]} abc
case "one value in place of another" {field x-a [ask {GET /update}]} 2
case "files, and parts of them" {
    list [body [ask {GET /file}]] [status [ask {GET /file} {{Range: bytes=2-3}}]] [body [ask {GET /file} {{Range: bytes=-2}}]] [body [ask {HEAD /file}]]
} {0123456789 206 89 {}}
case "bytes stay bytes" {binary encode hex [body [ask {GET /bytes}]]} 00ff80
case "text in the charset of its type" {binary encode hex [body [ask {GET /typed}]]} e9
match "one answer for a request" {
    nsv_set during script {ns_return 200 text/plain one; catch {ns_return 200 text/plain two} m; nsv_set during told $m}
    body [ask {GET /during}]
} one

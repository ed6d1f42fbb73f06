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
    proc cookie {script} {nsv_set during script $script; field set-cookie [ask {GET /during}]}
    proc sent {cookies script} {during $script {GET /during} [lmap c $cookies {string cat "Cookie: $c"}]}
}
case "the least" {cookie {ns_setcookie a b}} {{a="b"; HttpOnly; SameSite=Lax}}
case "every attribute" {
    cookie {ns_setcookie -domain t.test -path /p -secure true -scriptable true -samesite strict -expires 60 -- a {b c;}}
} {{a="b%20c%3b"; Max-Age=60; Domain=t.test; Path=/p; Secure; SameSite=Strict}}
case "not any more" {
    cookie {ns_deletecookie -path / c}
} {{c=""; Expires=Fri, 01-Jan-1980 01:00:00 GMT; Path=/; HttpOnly; SameSite=Lax}}
case "one in place of another" {cookie {ns_setcookie a 1; ns_setcookie -replace true a 2}} {{a="2"; HttpOnly; SameSite=Lax}}
case "reading" {sent {{a=1; b="x%20y"} {c=3}} {list [ns_getcookie a] [ns_getcookie b] [ns_getcookie c] [ns_getcookie d none]}} {1 {x y} 3 none}
case "the first of one name" {sent {{a=1; a=2}} {ns_getcookie a}} 1
case "one that is missing" {sent {a=1} {ns_getcookie b}} {error: no such cookie}
case "names that are none" {list [catch {ns_setcookie "a\n" c}] [catch {ns_setcookie -path "x;y" a c}]} {1 1}

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
    proc form {script body {query {}}} {
        during $script "POST /during?$query" {{Content-Type: application/x-www-form-urlencoded}} $body
    }
}
case "fields of query and body" {form {ns_set array [ns_getform]} a=1&b=x+y%21 c=3} {a 1 b {x y!} c 3}
case "one field" {form {list [ns_queryget a] [ns_queryget z none] [ns_queryexists a] [ns_queryexists z]} a=1} {1 none 1 0}
case "all values of a field" {form {ns_querygetall a} a=1&b=2&a=3} {1 3}
case "the form as a set" {form {ns_set size [ns_conn form]} a=1&a=2} 2
case "queries by hand" {ns_set array [ns_parsequery "a=%41&&b"]} {a A {} {} b {}}
case "a charset the form names itself" {form {string length [ns_queryget a]} _charset_=iso-8859-1&a=%E9%E8} 2
case "JSON bodies" {
    during {ns_getjson} {POST /during} {{Content-Type: application/json}} {{"a": [1, "e"], "b": null}}
} {a {1 e} b {}}
case "what is no JSON" {
    string match error:* [during {ns_getjson} {POST /during} {{Content-Type: application/json}} \x7b]
} 1
case "content as it came" {
    during {ns_getcontent -as_file false -binary false} {POST /during} {{Content-Type: text/plain}} hello
} hello
case "files of a form" {
    during {
        set name [ns_getformfile f]; set c [open $name]; set text [read $c]; close $c
        list [ns_queryget f] $text [ns_queryget t]
    } {POST /during} {{Content-Type: multipart/form-data; boundary=XX}} [string map [list \n \r\n] {--XX
Content-Disposition: form-data; name="f"; filename="a.txt"

the file
--XX
Content-Disposition: form-data; name="t"

the text
--XX--
}]
} {a.txt {the file} {the text}}
case "what is too large is refused" {
    status [ask {POST /during} {{Content-Length: 99999999999}}]
} 413
case "broken escapes" {status [ask {GET /during?a=%zz}]} 200

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
case "the request line, taken apart" {
    during {list [ns_conn method] [ns_conn url] [ns_conn query] [ns_conn urlv] [ns_conn urlc] [ns_conn urlv 0] [ns_conn version] [ns_conn protocol]} {GET /during?a=b%20c&d}
} {GET /during a=b%20c&d during 1 during 1.0 http}
case "the whole of it" {
    during {ns_conn request} {GET /during?x}
} {GET /during?x HTTP/1.0}
error "components that are not there" {ns_conn urlv 17} {provided index 17 exceeds length of urlv}
case "header fields are a set without regard to case" {
    during {set h [ns_conn headers]; list [ns_set iget $h X-MANY] [ns_set get $h X-MANY] [ns_set get -all $h X-Many]} {GET /during} {{X-Many: 1} {x-many: 2}}
} {1 1 {1 2}}
match "host and location" {
    during {list [ns_conn host] [ns_conn port] [ns_conn location]} {GET /during}
} {t.test 81 http://localhost:*}
case "bodies" {
    during {list [ns_conn contentlength] [ns_conn content] [ns_conn content -binary 1 2] [ns_conn contentfile]} {POST /during} {{Content-Type: text/plain}} abcd
} {4 abcd bc {}}
case "the other end" {
    during {list [ns_conn peeraddr] [string is integer [ns_conn peerport]] [ns_conn peeraddr -source direct] [ns_conn currentaddr]} {GET /during}
} {127.0.0.1 1 127.0.0.1 127.0.0.1}
case "without reverseproxymode nobody is believed" {
    during {list [ns_conn peeraddr] [ns_conn peeraddr -source forwarded]} {GET /during} {{X-Forwarded-For: 8.8.8.8, 1.1.1.1}}
} {127.0.0.1 8.8.8.8}
case "credentials" {
    during {list [ns_conn authuser] [ns_conn authpassword] [ns_set iget [ns_conn auth] authmethod]} {GET /during} {{Authorization: Basic dTpwOnE=}}
} {u p:q Basic}
case "what the client can unpack" {
    during {list [ns_conn zipaccepted] [ns_conn acceptedcompression]} {GET /during} {{Accept-Encoding: br;q=0, gzip, zstd}}
} {1 {gzip zstd}}
case "codings that a star stands for" {
    during {list [ns_conn zipaccepted] [ns_conn acceptedcompression]} {GET /during} {{Accept-Encoding: *}}
} {1 {brotli gzip}}
case "charsets can be changed" {
    during {list [ns_conn encoding] [ns_conn encoding iso8859-1] [ns_conn encoding] [ns_conn urlencoding]} {GET /during}
} {utf-8 iso-8859-1 iso-8859-1 utf-8}
case "data of the script's own" {
    during {list [ns_conn clientdata] [ns_conn clientdata x] [ns_conn clientdata]} {GET /during}
} {{} x x}
case "files of a form" {
    during {list [ns_conn files] [ns_conn filelength f] [ns_conn fileoffset f] [ns_set array [ns_conn fileheaders f]]} {POST /during} {
        {Content-Type: multipart/form-data; boundary=b}
    } "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: text/x\r\n\r\nabc\r\n--b--\r\n"
} {f 3 85 {content-disposition {form-data; name="f"; filename="x"} content-type text/x}}
error "a file that was not sent" {ns_conn filelength nobody} {no such file: nobody}
match "the detached connection" {
    during {set c [ns_conn channel]; fconfigure $c -translation binary; puts -nonewline $c "X 1\r\n\r\nraw"; close $c; ns_conn isconnected} {GET /during}
} {raw*}
case "outside of a connection" {
    set t [ns_thread create {catch {ns_conn url} m; list $m [ns_conn isconnected]}]
    ns_thread wait $t
} {{no connection} 0}

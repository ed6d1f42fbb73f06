# Configuration of the demo application, the logbook of a small harbour.
#
#   nsd -f -t demo/config.tcl              start it, then open http://127.0.0.1:8080/
#
# Environment:
#   PORT            port to listen on                       (default 8080)
#   ADDRESS         address(es) to listen on, space separated (default 127.0.0.1)
#                   ADDRESS="127.0.0.1 ::1"  IPv4 and IPv6 loopback
#                   ADDRESS="0.0.0.0"        reachable from other machines: the demo has
#                                            no log-in, so mind who can reach it
#   NAVIS_DEMO_VAR  directory for everything that is written (default: var/ beside this file)

# ---------------------------------------------------------------- where things are
# A configuration file is evaluated, not sourced, on some servers: then `info script`
# is empty and the server tells which file it is reading.
set script [info script]
if {$script eq ""} {
    set script [ns_info config]
}
if {[file isdirectory $script]} {
    set root [file normalize $script]
} else {
    set root [file dirname [file normalize $script]]
}

proc setting {name default} {
    if {[info exists ::env($name)] && $::env($name) ne ""} {
        return $::env($name)
    }
    return $default
}
set port    [setting PORT 8080]
set address [setting ADDRESS 127.0.0.1]
set var     [file normalize [setting NAVIS_DEMO_VAR [file join $root var]]]

foreach directory {log run tmp uploads} {
    file mkdir [file join $var $directory]
}

# ---------------------------------------------------------------- the process
ns_section ns/parameters {
    ns_param home          $root
    ns_param logdir        [file join $var log]
    ns_param systemlog     [file join $var log nsd.log]
    ns_param pidfile       [file join $var run nsd.pid]
    ns_param tmpdir        [file join $var tmp]
    ns_param outputcharset utf-8
    ns_param urlcharset    utf-8
}

ns_section ns/servers {
    ns_param demo "Harbour logbook"
}

# Static files up to cachemaxentry bytes are kept in memory.
ns_section ns/fastpath {
    ns_param cache         true
    ns_param cachemaxsize  4MB
    ns_param cachemaxentry 64kB
}

# ---------------------------------------------------------------- the listener
ns_section ns/modules {
    ns_param nssock nssock.so
}

ns_section ns/module/nssock {
    ns_param defaultserver demo
    ns_param address       $address
    ns_param port          $port
    ns_param hostname      localhost
    ns_param maxinput      12MB       ;# the largest body; the application accepts files up to 5 MB
    ns_param uploadpath    [file join $var tmp]
    ns_param recvwait      30s
    ns_param sendwait      30s
    ns_param keepwait      10s
    ns_param closewait     1s
}

ns_section ns/module/nssock/servers {
    ns_param demo localhost
    ns_param demo 127.0.0.1
}

# ---------------------------------------------------------------- the server
ns_section ns/server/demo {
    ns_param serverdir       $root
    ns_param minthreads      2
    ns_param maxthreads      8
    ns_param maxconnections  500
    ns_param compressenable  true
    ns_param compressminsize 1kB
}

ns_section ns/server/demo/fastpath {
    ns_param pagedir       www
    ns_param directoryfile "index.adp index.html"
    ns_param hidedotfiles  true
}

# Every *.tcl file here is sourced once at start, in alphabetical order.
ns_section ns/server/demo/tcl {
    ns_param library [file join $root tcl]
}

ns_section ns/server/demo/adp {
    ns_param map          /*.adp
    ns_param displayerror false
    ns_param detailerror  true
    ns_param errorpage    [file join $root views parts block-error.adp]
}

# Pages shown instead of the server's own for these answers.
ns_section ns/server/demo/redirects {
    ns_param 403 /errors/403.adp
    ns_param 404 /errors/404.adp
    ns_param 500 /errors/500.adp
}

ns_section ns/server/demo/modules {
    ns_param nslog nslog.so
    ns_param nsdb  nsdb.so
}

ns_section ns/server/demo/module/nslog {
    ns_param file        [file join $var log access.log]
    ns_param logcombined true
    ns_param logreqtime  true
    ns_param rolllog     true
    ns_param rollhour    0
    ns_param maxbackup   7
}

# ---------------------------------------------------------------- the database
ns_section ns/db/drivers {
    ns_param sqlite nsdbsqlite.so
}

ns_section ns/db/pools {
    ns_param main "Harbour logbook, one SQLite file"
}

ns_section ns/db/pool/main {
    ns_param driver        sqlite
    ns_param datasource    [file join $var harbour.db]
    ns_param connections   8
    ns_param logsqlerrors  true
}

ns_section ns/server/demo/db {
    ns_param pools       main
    ns_param defaultpool main
}

# ---------------------------------------------------------------- the application
# Its own parameters, read with ns_config in tcl/init.tcl.
ns_section ns/server/demo/harbour {
    ns_param root         $root
    ns_param var          $var
    ns_param name         "Lindvik Harbour"
    ns_param maxfile      5242880    ;# bytes per uploaded file
    ns_param maxfiles     200        ;# documents kept at most
    ns_param watchseconds 60         ;# how often the harbour watch looks
}

# The life of interpreters and what applications hang onto it: ns_eval, ns_cleanup, ns_module and their like.

proc ns_eval args {
    set usage {wrong # args: should be "ns_eval ?-sync? ?-pending? /script/ ?args?"}
    while {[llength $args]} {
        switch -- [lindex $args 0] {
            -sync {set args [lrange $args 1 end]}
            -pending {return {}}
            -- {set args [lrange $args 1 end]; break}
            default break
        }
    }
    if {![llength $args]} {error $usage}
    if {[llength $args] == 1} {set script [lindex $args 0]} else {set script [concat {*}$args]}
    ::navis::eval $script
}

# What the server does after every request, for threads that run for long.
proc ns_cleanup {} {
    ns_cleanupchans
    ns_cleanupvars
    ns_set cleanup
    ns_ictl cleanup
}

proc ns_cleanupchans {} {
    foreach channel [file channels] {
        if {$channel ni {stdin stdout stderr}} {catch {close $channel}}
    }
}

proc ns_cleanupvars {} {
    foreach name [info globals] {
        switch -glob -- $name {
            auto_* - tcl_* - env - argv* - errorInfo - errorCode {}
            default {unset -nocomplain ::$name}
        }
    }
}

proc ns_init {} {
    ns_ictl update
}

proc ns_reinit {} {
    ns_cleanup
    ns_init
}

# Facts about the module whose files are being sourced.
proc ns_module {key {val ""}} {
    set module [::navis::module]
    switch -exact -- $key {
        name {return $module}
        private - library {return [ns_library private {*}$module]}
        shared {return [ns_library shared {*}$module]}
        server {return [ns_info server]}
        files {return [lsort [glob -nocomplain -directory [ns_library private {*}$module] *.tcl]]}
        clear {return}
        default {return -code error "ns_module: bad key \"$key\": must be clear, files, library, name, private, server, or shared"}
    }
}

# Ends the script of a page without an error page.
proc ns_tcl_abort {} {
    return -code error -errorcode NS_TCL_ABORT ns_tcl_abort
}

# A handler that sources the file of its URL.
proc ns_sourceproc args {
    set file [ns_url2file [ns_conn url]]
    if {![file isfile $file]} {return [ns_returnnotfound]}
    if {[catch {uplevel #0 [list source $file]} result options]} {
        if {[dict get $options -errorcode] eq "NS_TCL_ABORT"} return
        return -options $options $result
    }
    return $result
}

# The section of the configuration that belongs to a driver, for a server or for all.
proc ns_driversection args {
    ns_parseargs {{-server {}} {-driver nssock}} $args
    if {$server ne ""} {
        foreach section [list ns/server/$server/module/$driver] {
            if {[ns_configsection $section] ne ""} {return $section}
        }
    }
    return ns/module/$driver
}

# Procedures of the reference's Tcl library that are easier in Tcl: files, odds and ends.

proc ns_fileread {filename} {
    set f [open $filename rb]
    try {
        return [read $f]
    } finally {
        close $f
    }
}

proc ns_filewrite {filename data {mode w}} {
    set f [open $filename ${mode}b]
    try {
        puts -nonewline $f $data
    } finally {
        close $f
    }
}

proc ns_openexcl {file} {
    if {[catch {open $file {RDWR CREAT EXCL}} channel options]} {
        if {[lindex [dict get $options -errorcode] 1] eq "EEXIST"} {
            return ""
        }
        return -options $options $channel
    }
    return $channel
}

proc ns_opentmpfile {varFilename {template ""}} {
    upvar 1 $varFilename name
    for {set try 0} {$try < 100} {incr try} {
        set name [expr {$template eq "" ? [ns_mktemp -nocomplain] : [ns_mktemp -nocomplain $template]}]
        if {![catch {open $name {RDWR CREAT EXCL} 0600} channel options]} {
            return $channel
        }
        if {[lindex [dict get $options -errorcode] 1] ne "EEXIST"} {
            break
        }
    }
    return -options $options $channel
}

proc ns_mkdir {dir} {
    file mkdir $dir
}

proc ns_rmdir {dir} {
    file delete $dir
}

proc ns_rename {from to} {
    file rename -force -- $from $to
}

proc ns_chmod {file mode} {
    file attributes $file -permissions $mode
}

proc ns_cpfp {chanin chanout {ncopy -1}} {
    if {$ncopy >= 0} {
        return [fcopy $chanin $chanout -size $ncopy]
    }
    fcopy $chanin $chanout
}

proc ns_getchannels {} {
    file channels
}

# The program that the configuration names, else the zlib of Tcl.
proc ns_gzipfile {source target} {
    set command [ns_config ns/fastpath gzip_cmd ""]
    if {$command ne ""} {
        exec {*}$command < $source > $target
        return
    }
    set in [open $source rb]
    try {
        set out [open $target wb]
        try {
            zlib push gzip $out -level 9
            fcopy $in $out
        } finally {
            close $out
        }
    } finally {
        close $in
    }
}

proc ns_brotlifile {source target} {
    set command [ns_config ns/fastpath brotli_cmd ""]
    if {$command eq ""} {
        error "ns/fastpath brotli_cmd is not configured"
    }
    exec {*}$command < $source > $target
}

proc env {args} {
    uplevel 1 [list ns_env {*}$args]
}

proc issmallint {val} {
    ns_issmallint $val
}

proc ns_issmallint {value} {
    expr {[string is integer -strict $value] && $value >= -32768 && $value <= 32767}
}

proc ns_paren {val} {
    return ($val)
}

proc ns_set_precision {precision} {
    set ::tcl_precision $precision
}

proc ns_browsermatch {pattern} {
    string match $pattern [ns_set iget [ns_conn headers] user-agent]
}

proc ns_tcl_abort {} {
    error ns_tcl_abort "" NS_TCL_ABORT
}

proc ns_deprecated {{alternative ""} {explanation ""}} {
    set name [lindex [info level -1] 0]
    set text "$name is deprecated."
    if {$alternative ne ""} {
        append text " Use '$alternative' instead!"
    }
    if {$explanation ne ""} {
        append text " $explanation"
    }
    ns_log Deprecated $text
}

# Variables of the process, as ns_var had them before nsv.
proc ns_var {cmd {key ""} {value ""}} {
    switch -- $cmd {
        exists { return [nsv_exists _ns_var $key] }
        get { return [nsv_get _ns_var $key] }
        list { return [nsv_array names _ns_var] }
        set { return [nsv_set _ns_var $key $value] }
        unset { return [nsv_unset _ns_var $key] }
        default { error "unknown command \"$cmd\", should be exists, list, get, set, or unset" }
    }
}

proc getformdata {formVar} {
    upvar 1 $formVar form
    set form [ns_getform]
    if {$form eq ""} {
        ns_returnbadrequest "Missing HTML FORM data"
        return 0
    }
    return 1
}

proc ns_sha2 {args} {
    ::navis::digest ns_sha2 {-length /length/? /message/} ns_crypto::md 1 $args
}

proc ns_hmac_sha2 {args} {
    ::navis::digest ns_hmac_sha2 {-length /length/? /key/ /message/} ns_crypto::hmac 2 $args
}

namespace eval ::navis {}

proc ::navis::digest {name usage command count words} {
    set length 256
    if {[llength $words] == $count + 2 && [lindex $words 0] eq "-length"} {
        set length [lindex $words 1]
        set words [lrange $words 2 end]
    }
    if {[llength $words] != $count} {
        return -level 2 -code error -errorcode {TCL WRONGARGS} "wrong # args: should be \"?$usage\""
    }
    $command string -digest sha$length -- {*}$words
}

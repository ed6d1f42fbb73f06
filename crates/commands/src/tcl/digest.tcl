# The classes ns_md and ns_hmac, which the reference has with the object system nsf only.

foreach {class command positional} {
    ns_md ns_crypto::md {message}
    ns_hmac ns_crypto::hmac {key message}
} {
    proc $class {{method ""} args} [string map [list @class $class @command $command] {
        ::navis::digestclass @class @command $method $args
    }]
}
unset class command positional

proc ::navis::digestclass {class command method words} {
    set keyed [expr {$class eq "ns_hmac"}]
    set key [expr {$keyed ? "key" : ""}]
    switch -- $method {
        "" { return ::$class }
        string {
            set slots [list {*}$key message]
            set values [::navis::nsfargs "::$class string" {-digest -encoding} $slots $words options]
            return [$command string {*}$options -- {*}$values]
        }
        file {
            set slots [list {*}$key filename]
            set values [::navis::nsfargs "::$class file" {-digest -encoding} $slots $words options]
            set digest [expr {[dict exists $options -digest] ? [dict get $options -digest] : "sha256"}]
            set ctx [$command new {*}[expr {$keyed ? [list -- $digest [lindex $values 0]] : [list $digest]}]]
            try {
                set f [open [lindex $values end] rb]
                try {
                    while {![eof $f]} {
                        $command add -binary -- $ctx [read $f 65536]
                    }
                } finally {
                    close $f
                }
                dict unset options -digest
                return [$command get {*}$options $ctx]
            } finally {
                $command free $ctx
            }
        }
        create - new {
            if {$method eq "create"} {
                set words [lassign $words name]
            } else {
                set name ::nsf::__#[incr ::navis::objects]
            }
            if {![string match ::* $name]} {
                set name ::$name
            }
            ::navis::nsfargs "::$class create" {-digest -key} {} $words options
            set digest [expr {[dict exists $options -digest] ? [dict get $options -digest] : "sha256"}]
            if {$keyed} {
                set ctx [$command new -- $digest [dict get $options -key]]
            } else {
                set ctx [$command new $digest]
            }
            if {[namespace qualifiers $name] ne ""} {
                namespace eval [namespace qualifiers $name] {}
            }
            interp alias {} $name {} ::navis::digestobject $command $ctx $name
            return $name
        }
        default {
            error "method '$method' unknown for ::$class; in order to create an instance of class ::$class, consider using '::$class create $method ?...?'"
        }
    }
}

proc ::navis::digestobject {command ctx name method args} {
    switch -- $method {
        add { $command add -- $ctx [lindex $args 0] }
        get { $command get {*}$args $ctx }
        destroy {
            $command free $ctx
            interp alias {} $name {}
            return
        }
        default { error "$name: unable to dispatch method '$method'" }
    }
}

# The positional values of `words`; options go to the variable `optionvar`. Messages as nsf words them.
proc ::navis::nsfargs {name known slots words optionvar} {
    upvar 1 $optionvar options
    set options {}
    set usage $name
    foreach option $known { append usage " ?$option /value/?" }
    foreach slot $slots { append usage " /$slot/" }
    while {[lindex $words 0] in $known && [llength $words] > 1} {
        set words [lassign $words option value]
        dict set options $option $value
    }
    if {[llength $words] > [llength $slots]} {
        set extra [lindex $words [llength $slots]]
        error "invalid argument '$extra', maybe too many arguments; should be \"$usage\""
    }
    if {[llength $words] < [llength $slots]} {
        error "required argument '[lindex $slots [llength $words]]' is missing, should be:\n\t$usage"
    }
    return $words
}

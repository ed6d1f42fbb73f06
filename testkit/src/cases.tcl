# Evaluates a file of cases; see cases.rs. The answer: "N failed of M", then a paragraph per failure.
namespace eval ::testkit {
    variable count 0
    variable failed 0
    variable failures {}
    proc run script { list [catch {uplevel #0 [list apply [list {} $script]]} result options] $result $options }
    proc told {name ok want got} {
        variable count
        variable failed
        variable failures
        incr count
        if {!$ok} { incr failed; append failures "\n\n$name\n   want $want\n   got  $got" }
    }
}
namespace eval ::testkit::words {
    proc case {name script want} {
        lassign [::testkit::run $script] code result
        set want [string trim $want]
        ::testkit::told $name [expr {$code in {0 2} && $result eq $want}] $want "[expr {$code in {0 2} ? {} : "code $code: "}]$result"
    }
    proc match {name script want} {
        lassign [::testkit::run $script] code result
        set want [string trim $want]
        ::testkit::told $name [expr {$code in {0 2} && [string match $want $result]}] $want "[expr {$code in {0 2} ? {} : "code $code: "}]$result"
    }
    proc error {name script want args} {
        lassign [::testkit::run $script] code result options
        set want [string trim $want]
        set ok [expr {$code == 1 && $result eq $want}]
        set got "code $code: $result"
        if {[llength $args]} {
            append want "   errorcode [lindex $args 0]"
            append got "   errorcode [dict get [dict merge {-errorcode {}} $options] -errorcode]"
            set ok [expr {$ok && [dict get [dict merge {-errorcode {}} $options] -errorcode] eq [lindex $args 0]}]
        }
        ::testkit::told $name $ok $want $got
    }
    proc setup script { uplevel #0 $script }
    proc param args {}
}
set ::testkit::channel [open {@FILE@}]
fconfigure $::testkit::channel -encoding utf-8
set ::testkit::text [read $::testkit::channel]
close $::testkit::channel
namespace eval ::testkit::words $::testkit::text
set ::testkit::report "$::testkit::failed failed of $::testkit::count$::testkit::failures"

# The database: one handle per request at most, values always quoted, rows as dictionaries.

namespace eval ::harbour::db {
    # The handle this thread holds now, so that nested calls share it: asking a pool for a
    # second handle while holding one could wait for itself.
    variable held ""
}

# Evaluates `script` in the caller's frame with a handle in `name`; gives the handle back afterwards.
proc ::harbour::db::with {name script} {
    variable held
    upvar 1 $name handle
    if {$held ne ""} {
        set handle $held
        return [uplevel 1 $script]
    }
    set held [ns_db gethandle -timeout 10 main]
    set handle $held
    set code [catch {
        # Writers queue instead of failing at once; the setting belongs to the connection.
        ns_db select $handle "pragma busy_timeout = 5000"
        ns_db flush $handle
        uplevel 1 $script
    } result options]
    set held ""
    ns_db releasehandle $handle
    if {$code == 2} { dict incr options -level }
    return -options $options $result
}

# Replaces :name by the quoted text of the caller's variable, and #name by its value as an integer.
# The statements of this application contain neither sign for any other purpose.
proc ::harbour::db::bind {sql {level 1}} {
    incr level
    set out ""
    set from 0
    foreach {all name} [regexp -all -inline -indices {[:#]([a-z][a-z_0-9]*)} $sql] {
        lassign $all start end
        upvar $level [string range $sql {*}$name] value
        append out [string range $sql $from $start-1]
        if {[string index $sql $start] eq "#"} {
            if {![string is wideinteger -strict $value]} {
                error "not an integer: $value"
            }
            append out [expr {$value + 0}]
        } else {
            append out [ns_dbquotevalue $value]
        }
        set from [expr {$end + 1}]
    }
    return $out[string range $sql $from end]
}

# All rows of a query, each a dictionary of column and value.
proc ::harbour::db::rows {sql} {
    set sql [bind $sql]
    set rows {}
    with db {
        set row [ns_db select $db $sql]
        while {[ns_db getrow $db $row]} {
            lappend rows [ns_set array $row]
        }
    }
    return $rows
}

# The only row of a query, or an empty dictionary.
proc ::harbour::db::row {sql} {
    set sql [bind $sql]
    with db {
        set row [ns_db 0or1row $db $sql]
        if {$row eq ""} { return {} }
        return [ns_set array $row]
    }
}

# The only value of a query that always has one row.
proc ::harbour::db::value {sql} {
    set sql [bind $sql]
    with db {
        return [ns_set value [ns_db 1row $db $sql] 0]
    }
}

# Runs a statement that returns no rows.
proc ::harbour::db::run {sql} {
    set sql [bind $sql]
    with db {
        ns_db dml $db $sql
    }
    return
}

# Runs an insert; returns the new row's id.
proc ::harbour::db::insert {sql} {
    set sql [bind $sql]
    with db {
        ns_db dml $db $sql
        return [ns_set value [ns_db 1row $db "select last_insert_rowid()"] 0]
    }
}

# Evaluates `script` in the caller's frame as one transaction: all of it happens, or nothing.
proc ::harbour::db::transaction {script} {
    with db {
        # `immediate` takes the write lock first: a later upgrade of a read lock could fail
        # although nobody did anything wrong.
        ns_db dml $db "begin immediate"
        set code [catch {uplevel 1 $script} result options]
        if {$code == 1} {
            catch {ns_db dml $db rollback}
        } else {
            ns_db dml $db commit
        }
    }
    if {$code == 2} { dict incr options -level }
    return -options $options $result
}

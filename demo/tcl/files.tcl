# Documents: upload with checks, download, deletion. The bytes lie in var/uploads under the
# document's number, so no name from outside ever becomes a path.

namespace eval ::harbour::files {
    # Ending, type, and how the bytes begin; text has no beginning and is checked for NUL instead.
    variable types {
        png  image/png       89504e470d0a1a0a
        jpg  image/jpeg      ffd8ff
        jpeg image/jpeg      ffd8ff
        gif  image/gif       47494638
        pdf  application/pdf 25504446
        txt  text/plain      ""
        csv  text/csv        ""
    }
}

proc ::harbour::files::stored_path {id} { return [::harbour::var_path uploads $id] }

proc ::harbour::files::all {} {
    return [::harbour::db::rows {
        select d.*, s.name as ship_name from document d left join ship s on s.id = d.ship
         order by d.stored desc, d.id desc
    }]
}

# The type of a file by its name and its beginning; empty when the two do not fit or it is not allowed.
proc ::harbour::files::sniff {name path} {
    variable types
    set ending [string tolower [string trimleft [file extension $name] .]]
    foreach {suffix type magic} $types {
        if {$suffix ne $ending} { continue }
        set channel [open $path rb]
        set head [read $channel 4096]
        close $channel
        binary scan $head H* digits
        if {$magic eq ""} {
            return [expr {[string first \x00 $head] < 0 ? $type : ""}]
        }
        return [expr {[string match $magic* $digits] ? $type : ""}]
    }
    return ""
}

# The file's own name without directories, control characters and excess length.
proc ::harbour::files::clean_name {name} {
    regsub {^.*[/\\]} $name "" name
    regsub -all {[\x00-\x1f\x7f"<>|:*?]} $name _ name
    set name [string trim $name " ."]
    if {[string length $name] > 100} {
        set ending [file extension $name]
        set name [string range $name 0 [expr {99 - [string length $ending]}]]$ending
    }
    return $name
}

# POST /files (multipart/form-data)
proc ::harbour::files::upload {} {
    set form [ns_getform]
    set problems {}
    set title [string trim [ns_set get $form title ""]]
    set ship  [ns_set get $form ship ""]
    set name  [clean_name [ns_set get $form file ""]]
    set path  [ns_set get $form file.tmpfile ""]
    set type  ""
    set bytes 0
    if {$name eq "" || $path eq ""} {
        dict set problems file "Choose a file."
    } else {
        set bytes [file size $path]
        if {$bytes == 0} {
            dict set problems file "The file is empty."
        } elseif {$bytes > [::harbour::setting maxfile]} {
            dict set problems file "At most [::harbour::bytes [::harbour::setting maxfile]], this file has [::harbour::bytes $bytes]."
        } elseif {[set type [sniff $name $path]] eq ""} {
            dict set problems file "Not a PNG, JPEG, GIF, PDF, text or CSV file."
        }
    }
    if {[string length $title] > 80} {
        dict set problems title "At most 80 characters."
    }
    if {$title eq ""} { set title $name }
    if {$ship ne "" && [::harbour::ships::get $ship] eq ""} {
        dict set problems ship "Choose a ship from the register, or none."
    }
    if {[::harbour::db::value {select count(*) from document}] >= [::harbour::setting maxfiles]} {
        dict set problems file "The cabinet is full: delete a document first."
    }
    if {[dict size $problems]} {
        # The page is the same as GET /files, with what is wrong beside the fields.
        ns_return 422 text/html [ns_adp_parse -file [::harbour::path www files.adp] \
            [dict create values [dict create title $title ship $ship] problems $problems]]
        return
    }
    set now [ns_time]
    ::harbour::db::transaction {
        set id [::harbour::db::insert {
            insert into document (ship, title, name, type, bytes, stored)
            values (:ship, :title, :name, :type, #bytes, #now)
        }]
        # Inside the transaction: without the bytes there is no document.
        file copy -force -- $path [stored_path $id]
    }
    ns_log notice "harbour: document $id stored, $bytes bytes of $type"
    ns_returnredirect /files?done=stored
}

# GET /files/17, with ?view=1 to show it instead of saving it
proc ::harbour::files::download {} {
    set document {}
    if {[ns_conn urlc] == 2 && [::harbour::is_id [ns_conn urlv 1]]} {
        set id [ns_conn urlv 1]
        set document [::harbour::db::row {select * from document where id = #id}]
    }
    if {$document eq "" || ![file exists [stored_path $id]]} {
        ::harbour::not_found
        return
    }
    set type [dict get $document type]
    set headers [ns_conn outputheaders]
    set how [expr {[ns_queryget view ""] eq "1" && [string match image/* $type] ? "inline" : "attachment"}]
    # The plain name for old clients, the full one after RFC 6266 and RFC 8187.
    regsub -all {[^A-Za-z0-9._ -]} [dict get $document name] _ plain
    set full [string map {+ %20} [ns_urlencode [dict get $document name]]]
    ns_set update $headers Content-Disposition "$how; filename=\"$plain\"; filename*=UTF-8''$full"
    ns_set update $headers Cache-Control "private, max-age=3600"
    if {[string match text/* $type]} { append type "; charset=utf-8" }
    ns_returnfile 200 $type [stored_path $id]
}

# POST /files/delete
proc ::harbour::files::remove {} {
    set id [ns_queryget id ""]
    if {![::harbour::is_id $id] || [::harbour::db::row {select id from document where id = #id}] eq ""} {
        ::harbour::not_found
        return
    }
    ::harbour::db::run {delete from document where id = #id}
    file delete -- [stored_path $id]
    ns_returnredirect /files?done=deleted
}

# Files without a document, left by an interruption. Returns how many were deleted.
proc ::harbour::files::sweep {} {
    set deleted 0
    foreach path [glob -nocomplain -directory [::harbour::var_path uploads] *] {
        set id [file tail $path]
        # An hour's grace: the row of a file that is being stored may not be visible yet.
        if {[file mtime $path] > [clock seconds] - 3600} { continue }
        if {[::harbour::is_id $id] && [::harbour::db::row {select id from document where id = #id}] ne ""} { continue }
        file delete -- $path
        incr deleted
    }
    return $deleted
}

<%
# One ship. Argument: a dictionary of ship, visits and documents.
ns_adp_bind_args data
set ship [dict get $data ship]
set visits [dict get $data visits]
set documents [dict get $data documents]
set name [dict get $ship name]
set id [dict get $ship id]
set open [lindex $visits 0]
if {$open eq "" || [dict get $open departed] ne ""} { set open "" }
ns_adp_include [harbour::part header] $name ships
%>
<p class="crumbs"><a href="/ships">Ships</a> &rsaquo; <%= [harbour::h $name] %></p>
<h1 data-test="ship-name"><%= [harbour::h $name] %></h1>
<div class="columns">
<section class="card">
<%
if {$open ne ""} {
    ns_adp_puts "<p><span class=\"badge\" data-test=\"in-port\">in port, berth [harbour::h [dict get $open code]]</span></p>"
    ns_adp_puts "<form method=\"post\" action=\"/visits/depart\" data-test=\"depart-form\">[harbour::session::token_field]<input type=\"hidden\" name=\"id\" value=\"[dict get $open id]\"><button data-test=\"depart\">Cast off</button></form>"
} else {
    ns_adp_puts "<p><span class=\"badge sea\" data-test=\"at-sea\">at sea</span></p><p><a class=\"button\" href=\"/visits/new?ship=$id\" data-test=\"log-arrival\">Log an arrival</a></p>"
}
%>
<dl class="facts">
<%
dict with ship {
    foreach {term text} [list "Call sign" $callsign Kind $kind Flag $flag "Home port" $home Length "$length m" Draught "$draught m" Tonnage [harbour::thousands $tonnage] Built $built] {
        ns_adp_puts "<div><dt>$term</dt><dd>[harbour::h $text]</dd></div>"
    }
}
%>
</dl>
</section>
<section class="card">
<h2>Documents</h2>
<%
if {[llength $documents] == 0} {
    ns_adp_puts "<p class=\"soft\">None yet.</p>"
} else {
    ns_adp_puts "<ul class=\"plain\">"
    foreach document $documents {
        ns_adp_puts "<li><a href=\"/files/[dict get $document id]\">[harbour::h [dict get $document title]]</a> <small>[harbour::bytes [dict get $document bytes]]</small></li>"
    }
    ns_adp_puts "</ul>"
}
%>
<p><a href="/files?ship=<%= $id %>">Add a document</a></p>
</section>
</div>
<section>
<h2>Visits</h2>
<%
if {[llength $visits] == 0} {
    ns_adp_puts "<p class=\"card empty\">This ship has not been here yet.</p>"
} else {
    ns_adp_puts "<div class=\"scroll\"><table data-test=\"ship-visits\"><thead><tr><th scope=\"col\">Arrived</th><th scope=\"col\">Departed</th><th scope=\"col\">Berth</th><th scope=\"col\">From</th><th scope=\"col\">Cargo</th><th scope=\"col\" class=\"number\">Tonnes</th><th scope=\"col\">Remark</th></tr></thead><tbody>"
    foreach visit $visits {
        dict with visit {
            set until [expr {$departed eq "" ? "<span class=\"badge\">in port</span>" : [harbour::time_tag $departed]}]
            ns_adp_puts "<tr data-test=\"visit-[dict get $visit id]\"><td>[harbour::time_tag $arrived]</td><td>$until</td><td>[harbour::h $code]</td><td>[harbour::h $origin]</td><td>[harbour::h $cargo]</td><td class=\"number\">[harbour::thousands $tonnes]</td><td>[harbour::h $remark]</td></tr>"
        }
    }
    ns_adp_puts "</tbody></table></div>"
}
%>
</section>
<% ns_adp_include [harbour::part footer] %>

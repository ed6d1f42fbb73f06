<%
# Also rendered by POST /files when something is wrong: then with a dictionary of values and problems.
# A page that was asked for by its address has its own path there.
set data [expr {[ns_conn method] eq "POST" ? [ns_adp_argv 1] : ""}]
set problems {}
set values [dict create title "" ship [ns_queryget ship ""]]
if {$data ne ""} {
    set problems [dict get $data problems]
    set values [dict get $data values]
}
set ships {"" "No ship in particular"}
foreach row [harbour::db::rows {select id, name from ship order by name collate nocase}] {
    lappend ships [dict get $row id] [dict get $row name]
}
set documents [harbour::files::all]
ns_adp_include [harbour::part header] Documents files
%>
<h1>Documents</h1>
<form class="card form" method="post" action="/files" enctype="multipart/form-data" data-test="upload-form">
<%= [harbour::session::token_field] %>
<div class="field"><label for="file">File <span class="need">needed</span></label>
<input type="file" id="file" name="file" required accept=".png,.jpg,.jpeg,.gif,.pdf,.txt,.csv" data-max="<%= [harbour::setting maxfile] %>" data-test="field-file"<%= [harbour::troubled $problems file] %>>
<p class="hint">PNG, JPEG, GIF, PDF, text or CSV, at most <%= [harbour::bytes [harbour::setting maxfile]] %>.</p>
<%= [harbour::complaint $problems file] %></div>
<div class="field"><label for="title">Title</label>
<input id="title" name="title" maxlength="80" autocomplete="off" value="<%= [harbour::h [dict get $values title]] %>" data-test="field-title"<%= [harbour::troubled $problems title] %>>
<%= [harbour::complaint $problems title] %></div>
<div class="field"><label for="ship">Ship</label>
<select id="ship" name="ship" data-test="field-ship"<%= [harbour::troubled $problems ship] %>><%= [harbour::options $ships [dict get $values ship]] %></select>
<%= [harbour::complaint $problems ship] %></div>
<div class="full"><button data-test="upload-submit">File it</button></div>
</form>
<%
if {[llength $documents] == 0} {
    ns_adp_puts "<p class=\"card empty\" data-test=\"no-documents\">The cabinet is empty. File the first document: a photo of a ship, a bill of lading, a crew list.</p>"
} else {
    ns_adp_puts "<ul class=\"documents\" data-test=\"documents\">"
    foreach document $documents {
        dict with document {}
        set picture "<span class=\"sheet\" aria-hidden=\"true\">[harbour::h [string toupper [string trimleft [file extension $name] .]]]</span>"
        if {[string match image/* $type]} { set picture "<img src=\"/files/$id?view=1\" alt=\"\" loading=\"lazy\">" }
        set about [expr {$ship eq "" ? "" : "<a href=\"/ships/$ship\">[harbour::h $ship_name]</a> &middot; "}]
        ns_adp_puts "<li class=\"card\" data-test=\"document-$id\">$picture<div><a class=\"title\" href=\"/files/$id\" data-test=\"download-$id\">[harbour::h $title]</a><small>$about[harbour::h $name], [harbour::bytes $bytes], [harbour::time_tag $stored]</small></div><form method=\"post\" action=\"/files/delete\" data-confirm=\"Delete this document?\">[harbour::session::token_field]<input type=\"hidden\" name=\"id\" value=\"$id\"><button class=\"quiet\" data-test=\"delete-$id\" aria-label=\"Delete [harbour::h $title]\">Delete</button></form></li>"
    }
    ns_adp_puts "</ul>"
}
%>
<% ns_adp_include [harbour::part footer] %>

<%
# The form for an arrival. Argument: a dictionary of values (as typed) and problems (by field).
ns_adp_bind_args data
set problems [dict get $data problems]
set values [dict merge {ship "" berth "" arrived "" origin "" cargo "" tonnes "" remark ""} [dict get $data values]]
set ships {"" "Choose a ship"}
foreach row [harbour::db::rows {
    select id, name, length, draught from ship
     where id not in (select ship from visit where departed is null) order by name collate nocase
}] {
    lappend ships [dict get $row id] "[dict get $row name] ([dict get $row length] m, draws [dict get $row draught] m)"
}
set berths {"" "Choose a berth"}
foreach row [harbour::ships::berths] {
    if {[dict get $row ship] eq ""} {
        lappend berths [dict get $row id] "[dict get $row code], [dict get $row quay] ([dict get $row length] m, [dict get $row depth] m deep)"
    }
}
ns_adp_include [harbour::part header] "Log an arrival" visits
%>
<p class="crumbs"><a href="/visits">Logbook</a> &rsaquo; Log an arrival</p>
<h1>Log an arrival</h1>
<%
if {[dict size $problems]} {
    ns_adp_puts "<p class=\"notice bad\" role=\"alert\" data-test=\"form-problem\">Not logged yet: [expr {[dict size $problems] == 1 ? "one field needs" : "[dict size $problems] fields need"}] another look.</p>"
}
%>
<form class="card form" method="post" action="/visits" novalidate data-test="visit-form">
<%= [harbour::session::token_field] %>
<div class="field"><label for="ship">Ship <span class="need">needed</span></label>
<select id="ship" name="ship" required data-test="field-ship"<%= [harbour::troubled $problems ship] %>><%= [harbour::options $ships [dict get $values ship]] %></select>
<%= [harbour::complaint $problems ship] %></div>
<div class="field"><label for="berth">Berth <span class="need">needed</span></label>
<select id="berth" name="berth" required data-test="field-berth"<%= [harbour::troubled $problems berth] %>><%= [harbour::options $berths [dict get $values berth]] %></select>
<%= [harbour::complaint $problems berth] %></div>
<div class="field"><label for="arrived">Arrived <span class="need">needed</span></label>
<input type="datetime-local" id="arrived" name="arrived" required value="<%= [harbour::h [dict get $values arrived]] %>" data-test="field-arrived"<%= [harbour::troubled $problems arrived] %>>
<%= [harbour::complaint $problems arrived] %></div>
<div class="field"><label for="origin">Coming from <span class="need">needed</span></label>
<input id="origin" name="origin" required maxlength="60" autocomplete="off" value="<%= [harbour::h [dict get $values origin]] %>" data-test="field-origin"<%= [harbour::troubled $problems origin] %>>
<%= [harbour::complaint $problems origin] %></div>
<div class="field"><label for="cargo">Cargo</label>
<input id="cargo" name="cargo" maxlength="60" autocomplete="off" value="<%= [harbour::h [dict get $values cargo]] %>" data-test="field-cargo"<%= [harbour::troubled $problems cargo] %>>
<%= [harbour::complaint $problems cargo] %></div>
<div class="field"><label for="tonnes">Tonnes</label>
<input id="tonnes" name="tonnes" inputmode="numeric" value="<%= [harbour::h [dict get $values tonnes]] %>" data-test="field-tonnes"<%= [harbour::troubled $problems tonnes] %>>
<%= [harbour::complaint $problems tonnes] %></div>
<div class="field full"><label for="remark">Remark</label>
<textarea id="remark" name="remark" rows="3" data-test="field-remark"<%= [harbour::troubled $problems remark] %>><%= [harbour::h [dict get $values remark]] %></textarea>
<%= [harbour::complaint $problems remark] %></div>
<div class="full"><button data-test="visit-submit">Write into the logbook</button> <a class="button quiet" href="/visits">Cancel</a></div>
</form>
<% ns_adp_include [harbour::part footer] %>

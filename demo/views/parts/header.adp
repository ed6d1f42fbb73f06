<%
# The top of every page. Arguments: title, name of the navigation entry that is current.
ns_adp_bind_args title here
set theme [harbour::session::theme]
set return [harbour::session::local_path [ns_conn url]]
if {[ns_conn method] eq "POST"} { set return / }
set entries {home / Harbour ships /ships Ships visits /visits Logbook files /files Documents tides /tides Tides status /status Status tour /tour Tour}
%><!DOCTYPE html>
<html lang="en" data-theme="<%= $theme %>">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title><%= [harbour::h $title] %> &middot; <%= [harbour::h [harbour::setting name]] %></title>
<link rel="stylesheet" href="/harbour.css">
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<script src="/harbour.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<div class="wide bar">
<a class="brand" href="/" data-test="brand"><img src="/logo.svg" width="34" height="34" alt=""> <span><%= [harbour::h [harbour::setting name]] %></span></a>
<form class="themes" method="post" action="/theme" data-test="theme-form" aria-label="Colours">
<input type="hidden" name="return" value="<%= [harbour::h $return] %>">
<%
foreach {name sign text} {auto &#9680; "As the system" light &#9728;&#65038; Light dark &#9790;&#65038; Dark} {
    set pressed [expr {$name eq $theme}]
    ns_adp_puts -nonewline "<button name=\"theme\" value=\"$name\" title=\"$text\" aria-label=\"$text\" aria-pressed=\"[expr {$pressed ? "true" : "false"}]\" data-test=\"theme-$name\">$sign</button>"
}
%>
</form>
</div>
<nav class="wide menu" aria-label="Main">
<%
foreach {name url text} $entries {
    set mark [expr {$name eq $here ? " aria-current=\"page\"" : ""}]
    ns_adp_puts -nonewline "<a href=\"$url\"$mark data-test=\"nav-$name\">$text</a>"
}
%>
</nav>
</header>
<main class="wide" id="content">
<%= [harbour::announcement [ns_queryget done ""]] %>

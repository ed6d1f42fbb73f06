<% ns_adp_bind_args status title text %>
<section class="card problem" data-test="problem-<%= $status %>">
<p class="code"><%= $status %></p>
<h1><%= [harbour::h $title] %></h1>
<p><%= [harbour::h $text] %></p>
<p><a class="button" href="/">Back to the harbour</a></p>
</section>

<p class="notice bad" role="alert" data-test="block-error">A part of this page could not be shown. The server's log says why.</p>

"""Our own client for pages on the web: it knows where it may connect to, how much it may read, and how to behave.

`client` fetches, `address` says where it may connect to, `robots` what a site asks for, `sitemap` what it lists.
"""

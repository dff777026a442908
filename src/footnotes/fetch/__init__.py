"""Fetches pages of the web, with limits on addresses, sizes and rates.

`client` fetches, `address` checks network addresses, `robots` reads robots.txt, `sitemap` reads sitemaps.
"""

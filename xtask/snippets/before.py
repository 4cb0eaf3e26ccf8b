import os
from types import SimpleNamespace
cookies = {'tracker_click_id': os.environ['CLICK_ID']}
user = SimpleNamespace(id=os.environ['CUSTOMER_KEY'], email='jane@shop.example')
order = SimpleNamespace(id=os.environ['ORDER_ID'])

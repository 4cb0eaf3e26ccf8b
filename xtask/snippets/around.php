<?php
$_COOKIE['tracker_click_id'] = getenv('CLICK_ID');
$user = (object) ['id' => getenv('CUSTOMER_KEY'), 'email' => 'jane@shop.example'];
$order = (object) ['id' => getenv('ORDER_ID')];
require __DIR__ . '/example.php';

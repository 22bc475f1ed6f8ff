ip address add 10.1.0.2/24 dev eth0
ip route add default via 10.1.0.1

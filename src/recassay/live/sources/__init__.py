"""Sources of events: files and folders that grow, standard input, Redis Streams, and Kafka's protocol."""

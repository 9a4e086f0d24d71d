ALTER TABLE `feed_state` ADD `began_at` datetime(3) DEFAULT now(3) NOT NULL;--> statement-breakpoint
ALTER TABLE `stores` ADD `unknown_objects` int DEFAULT 0 NOT NULL;
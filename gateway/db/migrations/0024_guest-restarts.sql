CREATE TABLE `guest_restarts` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`restarts` int NOT NULL,
	`restarted_at` datetime(3),
	`due_at` datetime(3),
	CONSTRAINT `guest_restarts_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE INDEX `guest_restarts_due` ON `guest_restarts` (`due_at`);
CREATE TABLE `webhook_dead_letters` (
	`id` bigint AUTO_INCREMENT NOT NULL,
	`webhook_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`n` bigint NOT NULL,
	`type` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`body` mediumtext NOT NULL,
	`at` datetime(3) NOT NULL,
	`error` varchar(255) NOT NULL,
	`is_due` boolean NOT NULL DEFAULT false,
	CONSTRAINT `webhook_dead_letters_id` PRIMARY KEY(`id`),
	CONSTRAINT `webhook_dead_letters_event` UNIQUE(`webhook_id`,`n`)
);
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`url` text NOT NULL,
	`types` json NOT NULL,
	`sealed_secret` text NOT NULL,
	`is_enabled` boolean NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`up_to` bigint NOT NULL,
	`failures` int NOT NULL DEFAULT 0,
	`failing_since` datetime(3),
	`next_attempt_at` datetime(3) NOT NULL,
	`delivered_at` datetime(3),
	`last_error` varchar(255),
	CONSTRAINT `webhooks_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE INDEX `webhook_dead_letters_at` ON `webhook_dead_letters` (`at`);--> statement-breakpoint
CREATE INDEX `webhook_dead_letters_due` ON `webhook_dead_letters` (`is_due`);--> statement-breakpoint
CREATE INDEX `webhooks_project` ON `webhooks` (`project_id`);
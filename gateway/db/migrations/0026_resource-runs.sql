CREATE TABLE `resource_runs` (
	`id` bigint AUTO_INCREMENT NOT NULL,
	`kind` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`resource_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`open_id` char(36) character set ascii collate ascii_bin,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`amount` double NOT NULL,
	`started_at` datetime(3) NOT NULL,
	`ended_at` datetime(3),
	CONSTRAINT `resource_runs_id` PRIMARY KEY(`id`),
	CONSTRAINT `resource_runs_open` UNIQUE(`kind`,`open_id`)
);
--> statement-breakpoint
CREATE INDEX `resource_runs_resource` ON `resource_runs` (`kind`,`resource_id`,`ended_at`);--> statement-breakpoint
CREATE INDEX `resource_runs_ended` ON `resource_runs` (`ended_at`);
CREATE TABLE `leases` (
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`holder` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`expires_at` datetime(3) NOT NULL,
	CONSTRAINT `leases_name` PRIMARY KEY(`name`)
);
--> statement-breakpoint
CREATE TABLE `saga_events` (
	`saga_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`step` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`event` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`data` json,
	`at` datetime(3) NOT NULL,
	CONSTRAINT `saga_events_saga_id_step_event_pk` PRIMARY KEY(`saga_id`,`step`,`event`)
);
--> statement-breakpoint
CREATE TABLE `sagas` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`version` int NOT NULL,
	`state` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`subject` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`params` json NOT NULL,
	`work` json NOT NULL,
	`owner` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`resume_at` datetime(3) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`ended_at` datetime(3),
	CONSTRAINT `sagas_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE INDEX `sagas_state` ON `sagas` (`state`,`resume_at`);--> statement-breakpoint
CREATE INDEX `sagas_subject` ON `sagas` (`subject`);--> statement-breakpoint
CREATE INDEX `sagas_ended` ON `sagas` (`ended_at`);
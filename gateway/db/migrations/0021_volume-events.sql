ALTER TABLE `event_inbox` ADD `volume_id` char(36) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `event_inbox` ADD `project_id` varchar(64) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `events` ADD `volume_id` char(36) character set ascii collate ascii_bin;--> statement-breakpoint
CREATE INDEX `events_volume` ON `events` (`volume_id`);
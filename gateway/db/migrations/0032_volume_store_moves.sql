ALTER TABLE `volume_moves` ADD `to_store` varchar(255);--> statement-breakpoint
ALTER TABLE `volumes` ADD `next_type_id` char(36) character set ascii collate ascii_bin;
CREATE TABLE `volume_copies` (
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`store_id` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`size_gb` int NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_copies_volume_id_store_id_pk` PRIMARY KEY(`volume_id`,`store_id`)
);
--> statement-breakpoint
CREATE INDEX `volume_copies_store` ON `volume_copies` (`store_id`);
CREATE TABLE `known_site` (
	`id` int NOT NULL,
	`generation` int NOT NULL,
	`announcement` json,
	CONSTRAINT `known_site_id` PRIMARY KEY(`id`)
);

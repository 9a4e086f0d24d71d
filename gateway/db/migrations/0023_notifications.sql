CREATE TABLE `notification_state` (
	`id` int NOT NULL,
	`up_to` bigint NOT NULL,
	CONSTRAINT `notification_state_id` PRIMARY KEY(`id`)
);

ALTER TABLE `instances` ADD `held` json;--> statement-breakpoint
ALTER TABLE `server_migrations` ADD `held` json;--> statement-breakpoint
UPDATE `instances` i SET i.`held` = (
	SELECT json_objectagg(a.`resource_class`, a.`used`) FROM `allocations` a
	WHERE a.`consumer_id` = i.`server_id` AND a.`provider_id` = i.`host_id` AND a.`used` > 0
		AND a.`resource_class` NOT REGEXP '^NUMA_[0-9]+_'
);

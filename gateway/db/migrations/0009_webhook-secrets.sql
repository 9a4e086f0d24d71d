ALTER TABLE `webhooks` ADD `former_sealed_secret` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `former_secret_ends_at` datetime(3);
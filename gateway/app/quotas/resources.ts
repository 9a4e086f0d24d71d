/** The limits of a project's usage, with Nova's names and defaults; -1 is unlimited. */
export const DEFAULT_LIMITS = {
  cores: 20,
  /** Of the network service, which has limits of its own; kept for clients below microversion 2.36. */
  fixed_ips: -1,
  floating_ips: -1,
  injected_file_content_bytes: 10_240,
  injected_file_path_bytes: 255,
  injected_files: 5,
  instances: 10,
  key_pairs: 100,
  metadata_items: 128,
  /** MiB. */
  ram: 51_200,
  security_group_rules: -1,
  security_groups: -1,
  server_group_members: 10,
  server_groups: 10,
} as const satisfies Readonly<Record<string, number>>

export type QuotaResource = keyof typeof DEFAULT_LIMITS

export const QUOTA_RESOURCES = Object.keys(DEFAULT_LIMITS) as readonly QuotaResource[]

export type QuotaLimits = Readonly<Record<QuotaResource, number>>

/** Those with a row in the ledger, in the order every transaction charges them, so that two never deadlock. */
export const COUNTED_RESOURCES = [
  'cores',
  'instances',
  'key_pairs',
  'ram',
  'server_groups',
] as const satisfies readonly QuotaResource[]

export type CountedResource = (typeof COUNTED_RESOURCES)[number]

/** Amounts that are charged or refunded, by resource; ram in MiB. */
export type QuotaDeltas = Readonly<Partial<Record<CountedResource, number>>>

export const UNLIMITED = -1

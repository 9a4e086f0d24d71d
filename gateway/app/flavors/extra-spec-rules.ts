import { Failure } from '#common/errors.ts'

/** The condition on a value, and its text in errors. */
interface Rule {
  /** Of the whole key. */
  readonly key: RegExp
  readonly isValid: (value: string) => boolean
  readonly hint: string
}

const BOOLEAN = /^(?:true|false|yes|no|on|off|y|n|t|f|0|1)$/i
const PAGE_SIZE = /^(?:large|small|any|\d+(?:[kKMGT]i?(?:b|bit|B)?)?)$/
const CPU_LIST = /^\^?\d+(?:-\d+)?(?:,\^?\d+(?:-\d+)?)*$/
const SOUND_MODELS = ['sb16', 'es1370', 'pcspk', 'ac97', 'ich6', 'ich9', 'usb', 'virtio'] as const

const rule = (key: RegExp, isValid: (value: string) => boolean, hint: string): Rule => {
  return { key, isValid, hint }
}
const oneOf = (key: RegExp, ...values: readonly string[]) =>
  rule(key, (value) => values.includes(value), `one of ${values.join(', ')}`)
const whole = (key: RegExp, min: number) =>
  rule(
    key,
    (value) => /^\d{1,10}$/.test(value) && Number(value) >= min,
    `a whole number of at least ${min}`,
  )
const boolean = (key: RegExp) => rule(key, (value) => BOOLEAN.test(value), 'true or false')
const like = (key: RegExp, pattern: RegExp, hint: string) =>
  rule(key, (value) => pattern.test(value), hint)
const integer = (key: RegExp) => rule(key, (value) => /^-?\d{1,18}$/.test(value), 'a whole number')
const any = (key: RegExp) => rule(key, () => true, '')

/** The extra specs that have a meaning, as Nova documents them ("Extra Specs" in its configuration reference). */
const RULES: readonly Rule[] = [
  any(/^accel:device_profile$/),
  any(/^aggregate_instance_extra_specs:.+$/),
  any(/^capabilities:.+$/),
  oneOf(/^group_policy$/, 'isolate', 'none'),
  boolean(/^hw:(?:boot_menu|cpu_realtime|hide_hypervisor_id|mem_encryption|locked_memory|pmu)$/),
  boolean(/^hw:(?:vif_multiqueue_enabled|virtio_packed_ring|ephemeral_encryption)$/),
  boolean(/^hide_hypervisor_id$/),
  oneOf(/^hw:ephemeral_encryption_format$/, 'plain', 'luks', 'luksv2'),
  oneOf(/^hw:mem_encryption_model$/, 'amd-sev', 'amd-sev-es', 'amd-sev-snp'),
  like(/^hw:(?:cpu_realtime_mask|cpu_dedicated_mask|numa_cpus\.\d+)$/, CPU_LIST, 'a list of CPUs'),
  whole(/^hw:(?:cpu_(?:max_)?(?:sockets|cores|threads)|numa_nodes|numa_mem\.\d+)$/, 1),
  whole(/^hw:serial_port_count$/, 0),
  oneOf(/^hw:cpu_policy$/, 'dedicated', 'mixed', 'shared'),
  oneOf(/^hw:cpu_thread_policy$/, 'isolate', 'prefer', 'require'),
  oneOf(/^hw:emulator_threads_policy$/, 'isolate', 'share'),
  oneOf(/^hw:pci_numa_affinity_policy$/, 'required', 'preferred', 'legacy', 'socket'),
  oneOf(/^hw:watchdog_action$/, 'none', 'pause', 'poweroff', 'reset', 'disabled'),
  oneOf(/^hw:viommu_model$/, 'intel', 'smmuv3', 'virtio', 'auto'),
  oneOf(/^hw:tpm_model$/, 'tpm-tis', 'tpm-crb'),
  oneOf(/^hw:tpm_version$/, '1.2', '2.0'),
  oneOf(/^hw:tpm_secret_security$/, 'user', 'host', 'deployment'),
  oneOf(/^hw:sound_model$/, ...SOUND_MODELS),
  oneOf(/^hw:usb_model$/, 'none', 'nec-xhci', 'qemu-xhci'),
  like(/^hw:redirected_usb_ports$/, /^(?:\d|1[0-5])$/, 'a whole number from 0 to 15'),
  like(/^hw:mem_page_size$/, PAGE_SIZE, 'large, small, any or a size such as 2MB'),
  any(/^hw:pmem$/),
  boolean(/^hw_rng:allowed$/),
  whole(/^hw_rng:(?:rate_bytes|rate_period)$/, 0),
  whole(/^hw_video:ram_max_mb$/, 0),
  oneOf(/^os:secure_boot$/, 'disabled', 'required'),
  any(/^pci_passthrough:alias$/),
  whole(/^quota:(?:cpu|memory|disk_io|vif)_(?:limit|shares_share)$/, 0),
  integer(/^quota:(?:(?:cpu|memory|disk_io|vif)_reservation|cpu_quota)$/),
  oneOf(/^quota:(?:cpu|memory|disk_io|vif)_shares_level$/, 'custom', 'high', 'normal', 'low'),
  whole(/^quota:cpu_(?:period|shares)$/, 0),
  whole(/^quota:disk_(?:read|write|total)_(?:bytes|iops)_sec$/, 0),
  whole(/^quota:vif_(?:in|out)bound_(?:average|burst|peak)$/, 0),
  whole(/^resources[a-zA-Z0-9_-]{0,64}:[A-Z][A-Z0-9_]*$/, 0),
  any(/^vmware:(?:hw_version|storage_policy)$/),
  oneOf(/^trait[a-zA-Z0-9_-]{0,64}:[A-Z][A-Z0-9_]*$/, 'required', 'forbidden'),
]

/** Only in these does an unknown name mean a mistake; others belong to operators' own filters. */
const NAMESPACE =
  /^(?:accel|aggregate_instance_extra_specs|capabilities|hw|hw_rng|hw_video|os|pci_passthrough|quota|resources[a-zA-Z0-9_-]*|trait[a-zA-Z0-9_-]*|vmware):/

/** Throws `invalid` for a mistyped name in a namespace that has a meaning, and for a value without one. */
export function checkExtraSpecs(specs: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(specs)) {
    const known = RULES.find((candidate) => candidate.key.test(key))
    if (known === undefined && NAMESPACE.test(key))
      throw new Failure(
        'invalid',
        `Validation failed; extra spec '${key}' does not appear to be a valid extra spec.`,
      )
    if (known !== undefined && !known.isValid(value))
      throw new Failure(
        'invalid',
        `Validation failed; '${value}' is not valid for extra spec '${key}': it must be ${known.hint}.`,
      )
  }
}

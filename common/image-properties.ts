/** An image's properties by their names. */
export type ImageProperties = Readonly<Record<string, string>>

/** About the hardware of guests: they need a host on whose guests they have an effect. Names as in Nova and Glance. */
export const GUEST_PROPERTIES = words(`
  block_device_mapping hw_boot_menu hw_cdrom_bus hw_cpu_cores hw_cpu_max_cores hw_cpu_max_sockets
  hw_cpu_max_threads hw_cpu_policy hw_cpu_realtime_mask hw_cpu_sockets hw_cpu_thread_policy
  hw_cpu_threads hw_disk_bus hw_emulation_architecture hw_ephemeral_encryption
  hw_ephemeral_encryption_format hw_ephemeral_encryption_secret_uuid hw_firmware_stateless
  hw_firmware_type hw_floppy_bus hw_input_bus hw_locked_memory hw_machine_type hw_maxphysaddr_bits
  hw_maxphysaddr_mode hw_mem_encryption hw_mem_encryption_model hw_mem_page_size hw_numa_cpus
  hw_numa_mem hw_numa_nodes hw_pci_numa_affinity_policy hw_pmu hw_pointer_model
  hw_qemu_guest_agent hw_redirected_usb_ports hw_rescue_bus hw_rescue_device hw_rng_model
  hw_scsi_model hw_serial_port_count hw_sound_model hw_time_hpet hw_tpm_model hw_tpm_version
  hw_usb_model hw_video_model hw_video_ram hw_vif_model hw_vif_multiqueue_enabled hw_viommu_model
  hw_virtio_packed_ring hw_vm_mode hw_watchdog_action img_block_device_mapping
  img_hide_hypervisor_id img_mappings kernel_id mappings os_command_line os_require_quiesce
  os_secure_boot os_shutdown_timeout ramdisk_id vm_mode`)

/** The scheduler or the gateway heeds them, whatever the host. */
export const PLACING_PROPERTIES = words(`
  architecture hw_architecture hypervisor_type hypervisor_version_requires img_config_drive
  img_hv_requested_version img_hv_type`)

/** They choose no host and no hardware, nor do they by default in Nova with libvirt; the reasons why, each with the names. */
export const INFORMATIVE_PROPERTIES: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'they describe the content of the image, for users and tools',
    words('img_owner_id img_version os_distro os_version owner_id'),
  ],
  [
    'libvirt hosts change the password of `os_admin_user`, or else of Administrator if `os_type` is windows; other hosts change none',
    words('os_admin_user os_type'),
  ],
  [
    'they are for drivers of other hypervisors, and Nova has removed most of these',
    words(`
      auto_disk_config cache_in_nova hw_auto_disk_config hw_device_id hw_disk_type hw_ipxe_boot
      img_cache_in_nova img_compression_level img_linked_clone img_use_agent ipxe_boot
      os_skip_agent_inject_files_at_boot os_skip_agent_inject_ssh vmware_disktype
      vmware_image_version vmware_linked_clone vmware_ostype xenapi_device_id
      xenapi_image_compression_level xenapi_skip_agent_inject_files_at_boot
      xenapi_skip_agent_inject_ssh xenapi_use_agent`),
  ],
  [
    'they are left from the EC2 API and from BitTorrent downloads',
    words('bdm_v2 bittorrent img_bdm_v2 img_bittorrent img_root_device_name root_device_name'),
  ],
  [
    'Nova verifies signatures only if its operator turns that on; nothing is verified here',
    words(`
      img_signature img_signature_certificate_uuid img_signature_hash_method
      img_signature_key_type`),
  ],
  ["it is Nova's own record of `trait:NAME`", words('traits_required')],
])

/** Values that ask for nothing that a guest does not have anyway. */
const UNDEMANDING: Readonly<Record<string, readonly string[]>> = {
  block_device_mapping: ['', '[]'],
  img_block_device_mapping: ['', '[]'],
  mappings: ['', '[]'],
  img_mappings: ['', '[]'],
  hw_cpu_policy: ['shared'],
  hw_cpu_thread_policy: ['prefer'],
  hw_mem_page_size: ['any', 'small'],
  // `legacy` asks for devices on the nodes of the guest, if it is known where they are (nova/pci/stats.py).
  hw_pci_numa_affinity_policy: ['preferred'],
  hw_redirected_usb_ports: ['0'],
  hw_usb_model: ['none'],
  hw_video_ram: ['0'],
  hw_watchdog_action: ['disabled'],
  os_secure_boot: ['disabled', 'optional'],
}
/** What no guest has unless it is asked for. `hw_pmu` and `hw_time_hpet` are none of these: a guest has them, or not, by itself. */
const FLAGS = words(`
  hw_boot_menu hw_ephemeral_encryption hw_firmware_stateless hw_locked_memory hw_mem_encryption
  hw_qemu_guest_agent hw_vif_multiqueue_enabled hw_virtio_packed_ring img_hide_hypervisor_id
  os_require_quiesce`)
const NO = ['0', 'f', 'false', 'off', 'n', 'no']
/** Of a guest's memory node; the name is the same for each. */
const NODE = /\.\d+$/

const GUEST: ReadonlySet<string> = new Set(GUEST_PROPERTIES)

/**
 * The first property of an image that is about the hardware of guests and has no effect on those of a host, as
 * `NAME=VALUE`; undefined: there is none. `heeded` are those that have one: names, or `NAME=VALUE` where no other value has.
 */
export function unheededProperty(
  properties: ImageProperties,
  heeded: readonly string[],
): string | undefined {
  for (const [name, value] of Object.entries(properties)) {
    if (!GUEST.has(name.replace(NODE, ''))) continue
    const asked = `${name}=${value}`
    if (heeded.includes(name) || heeded.includes(asked)) continue
    if (UNDEMANDING[name]?.includes(value)) continue
    if (FLAGS.includes(name) && NO.includes(value.toLowerCase())) continue
    return asked
  }
  return undefined
}

/** Other names by which images call an architecture. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  amd64: 'x86_64',
  x64: 'x86_64',
  arm64: 'aarch64',
  i386: 'i686',
  x86: 'i686',
}

/** The architecture that an image is made for, by the name that hosts have for it; undefined: it says none. */
export function wantedArchitecture(properties: ImageProperties): string | undefined {
  const asked = properties['hw_architecture'] ?? properties['architecture']
  return asked === undefined ? undefined : canonicalArchitecture(asked)
}

/** The one name of an architecture that has several. */
export function canonicalArchitecture(architecture: string): string {
  const name = architecture.toLowerCase()
  return Object.hasOwn(ARCHITECTURES, name) ? ARCHITECTURES[name]! : name
}

/** What runs guests of another type too: KVM hosts run what was made for plain QEMU. */
const ALSO_RUNS: Readonly<Record<string, readonly string[]>> = { kvm: ['qemu'] }

/** The type of hypervisor that an image is made for, in lower case; undefined: it says none. */
export function wantedHypervisor(properties: ImageProperties): string | undefined {
  return (properties['img_hv_type'] ?? properties['hypervisor_type'])?.toLowerCase()
}

/** True where hosts of this type run guests that were made for the wanted one. */
export function runsGuestsOf(hypervisorType: string, wanted: string): boolean {
  const type = hypervisorType.toLowerCase()
  return type === wanted || (ALSO_RUNS[type]?.includes(wanted) ?? false)
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

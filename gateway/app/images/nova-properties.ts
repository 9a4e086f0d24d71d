/** The names after `hw_`, `img_` and `os_`, and those without such a beginning (nova/objects/image_meta.py). */
const HARDWARE = `
  architecture auto_disk_config boot_menu cdrom_bus cpu_cores cpu_max_cores cpu_max_sockets
  cpu_max_threads cpu_policy cpu_realtime_mask cpu_sockets cpu_thread_policy cpu_threads device_id
  disk_bus disk_type emulation_architecture ephemeral_encryption ephemeral_encryption_format
  ephemeral_encryption_secret_uuid firmware_stateless firmware_type floppy_bus input_bus ipxe_boot
  locked_memory machine_type maxphysaddr_bits maxphysaddr_mode mem_encryption mem_encryption_model
  mem_page_size numa_cpus numa_mem numa_nodes pci_numa_affinity_policy pmu pointer_model
  qemu_guest_agent redirected_usb_ports rescue_bus rescue_device rng_model scsi_model
  serial_port_count sound_model time_hpet tpm_model tpm_version usb_model video_model video_ram
  vif_model vif_multiqueue_enabled viommu_model virtio_packed_ring vm_mode watchdog_action`
const IMAGE = `
  bdm_v2 bittorrent block_device_mapping cache_in_nova compression_level config_drive
  hide_hypervisor_id hv_requested_version hv_type linked_clone mappings owner_id root_device_name
  signature signature_certificate_uuid signature_hash_method signature_key_type use_agent version`
const SYSTEM = `
  admin_user command_line distro require_quiesce secure_boot skip_agent_inject_files_at_boot
  skip_agent_inject_ssh type`
const OTHERS = `
  architecture auto_disk_config bdm_v2 bittorrent block_device_mapping cache_in_nova
  hypervisor_type hypervisor_version_requires ipxe_boot mappings owner_id root_device_name
  traits_required vm_mode vmware_disktype vmware_image_version vmware_linked_clone vmware_ostype
  xenapi_device_id xenapi_image_compression_level xenapi_skip_agent_inject_files_at_boot
  xenapi_skip_agent_inject_ssh xenapi_use_agent`

/** All of them, with their beginnings. */
export const NOVA_PROPERTIES: readonly string[] = [
  ...words(HARDWARE).map((name) => `hw_${name}`),
  ...words(IMAGE).map((name) => `img_${name}`),
  ...words(SYSTEM).map((name) => `os_${name}`),
  ...words(OTHERS),
]

const NAMES: ReadonlySet<string> = new Set(NOVA_PROPERTIES)

/** True for a property of an image that says something to Nova; others are the users' own, and not shown of servers. */
export function isMeantForNova(property: string): boolean {
  return NAMES.has(property)
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

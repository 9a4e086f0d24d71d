/** The properties of images that have an effect on whole machines, or are true of them: what they boot without their disk. */
export const MACHINE_IMAGE_PROPERTIES: readonly string[] = [
  'hw_vm_mode=hvm',
  'kernel_id',
  'os_command_line',
  'ramdisk_id',
  'vm_mode=hvm',
]

/** The extra specs of flavors about hardware that have an effect on whole machines: they have the hardware that they have. */
export const MACHINE_EXTRA_SPECS: readonly string[] = []

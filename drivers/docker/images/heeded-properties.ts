/** The properties of images about guests that are true of containers; there is no hardware to choose. */
export const IMAGE_PROPERTIES: readonly string[] = ['hw_vm_mode=exe', 'vm_mode=exe']

/** The extra specs of flavors about hardware that have an effect on containers. */
export const EXTRA_SPECS: readonly string[] = []

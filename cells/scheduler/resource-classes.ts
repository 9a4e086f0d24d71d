/** The resource classes of PCI devices, one for each alias. */
export const DEVICE_CLASS = /^CUSTOM_PCI_/

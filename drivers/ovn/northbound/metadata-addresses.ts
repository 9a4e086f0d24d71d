/** Where guests look for the metadata service, on every network. */
export const METADATA_ADDRESS = '169.254.169.254'
export const METADATA_ADDRESS_V6 = 'fe80::a9fe:a9fe'

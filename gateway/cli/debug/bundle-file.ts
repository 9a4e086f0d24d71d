/** One file of a bundle, not yet redacted. */
export interface BundleFile {
  readonly name: string
  readonly text: string
}

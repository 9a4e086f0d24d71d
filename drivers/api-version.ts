/** True when a version of a backend's API is older than another. They are pairs of numbers, not text: 2.9 is older than 2.10. */
export function isOlder(version: string, other: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

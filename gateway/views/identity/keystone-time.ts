/** Keystone writes microseconds, and some clients parse nothing else. */
export function keystoneTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z')
}

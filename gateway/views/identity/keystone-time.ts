/** Keystone writes microseconds, and some clients parse nothing else. */
export function keystoneTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z')
}

/** As Keystone writes the end of an application credential: in UTC without saying so, which some clients rely on. */
export function zonelessTime(time: Date): string {
  return keystoneTime(time).replace('Z', '')
}

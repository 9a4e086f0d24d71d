export interface Uptime {
  /** How long the host's machine has been up and how busy it is, as its command `uptime` prints it. */
  read(signal: AbortSignal): Promise<string>
}

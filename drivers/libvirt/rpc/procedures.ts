/** Numbers of libvirt's `remote` program that Weir calls or is called with (src/remote/remote_protocol.x). */
export const PROCEDURES = {
  connectOpen: 1,
  connectGetVersion: 4,
  nodeGetInfo: 6,
  connectGetCapabilities: 7,
  domainLookupByUuid: 24,
  domainResume: 28,
  domainSuspend: 34,
  networkCreate: 39,
  networkDefineXml: 41,
  networkDestroy: 42,
  networkGetXmlDesc: 43,
  networkLookupByUuid: 47,
  networkUndefine: 49,
  connectGetHostname: 59,
  connectSupportsFeature: 60,
  authList: 66,
  networkIsActive: 152,
  connectGetLibVersion: 157,
  domainCreateWithFlags: 196,
  domainGetState: 212,
  nodeGetMemoryStats: 228,
  domainUndefineFlags: 231,
  domainDestroyFlags: 234,
  domainShutdownFlags: 258,
  domainGetMetadata: 265,
  connectListAllDomains: 273,
  networkUpdate: 291,
  domainEventCallbackRegister: 316,
  domainEventCallbackLifecycle: 318,
  domainDefineXmlFlags: 350,
} as const
export type Procedure = (typeof PROCEDURES)[keyof typeof PROCEDURES]

/** Numbers of the `keepalive` program (src/rpc/virkeepaliveprotocol.x). */
export const KEEPALIVE = { ping: 1, pong: 2 } as const

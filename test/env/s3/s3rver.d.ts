declare module 's3rver' {
  /** An S3 on the file system; its key and secret are `S3RVER`. */
  export default class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
    })
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}
